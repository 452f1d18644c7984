"""How mass is shared out among clusters."""

from stickbreak.priors.finite import FiniteDirichlet
from stickbreak.priors.learned import LearnedConcentration
from stickbreak.priors.sticks import BetaSticks, DirichletProcess, PitmanYor

__all__ = ["BetaSticks", "DirichletProcess", "FiniteDirichlet", "LearnedConcentration", "PitmanYor"]
