"""``python -m stickbreak`` is the command line."""

from stickbreak.cli import main

if __name__ == "__main__":
    main()
