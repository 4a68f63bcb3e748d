"""The command `jupyter-book`, as a program that starts the same way on every system."""

from jupyter_book.cli.main import main

if __name__ == "__main__":
    main(prog_name="jupyter-book")
