"""``python -m fanwise``."""

from fanwise.cli.main import main

main()
