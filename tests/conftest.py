"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "stickbreak",
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("stickbreak")
