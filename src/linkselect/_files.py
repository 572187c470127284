"""Files that are written whole or not at all."""

import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file to write to, which takes the place of `path` at the end.

    If anything fails, what was at `path` stays as it was. Readers see the old file or all of the
    new one, never a part. An existing file keeps its mode, and a link keeps pointing where it did.
    A device or a pipe cannot be replaced: it is written to as it is.

    Parameters
    ----------
    path : str or path
        The file to write; its folder must exist.

    Examples
    --------
    >>> import os, tempfile
    >>> from linkselect._files import written_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(os.path.join(folder, "a.txt")) as part:
    ...         _ = part.write_text("all of it")
    ...     os.listdir(folder)
    ['a.txt']
    """
    given = Path(path)
    # As it is given: /dev/stdout is a link to a name that is in no folder if it is a pipe.
    if _cannot_be_replaced(given):
        yield given
        return
    target = Path(os.path.realpath(path))  # does not fail at links that form a circle
    # In the same folder, so that it can be renamed; a name that cannot be guessed, and only if it
    # is new, so that no link that someone planted is followed. The ending stays: formats go by it.
    # The rest is cut, so that a name of the greatest length has room for what is added.
    part = _part_of(target, secrets.token_hex(8))
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            yield part
            with suppress(FileNotFoundError):
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.filename != str(part):
            raise
        # The user does not know the name of the temporary file.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file as `written_whole` does, and leave nothing else if the process is killed.

    Where the system has files without a name, the new one gets its name once it is on the disk, an
    instant before it takes the place of the old one. Elsewhere a kill can leave a part of it, which
    `clear_parts` takes away.
    """
    target = Path(os.path.realpath(path))
    if _cannot_be_replaced(target):
        target.write_bytes(content)
        return
    if hasattr(os, "O_TMPFILE"):
        # The file system may not have such files. If something else is wrong, it comes up below.
        with suppress(OSError):
            _write_unnamed(target, content)
            return
    with written_whole(path) as part, part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _write_unnamed(target: Path, content: bytes) -> None:
    part = _part_of(target, secrets.token_hex(8))
    with ExitStack() as opened:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, folder)
        number = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
        file = opened.enter_context(open(number, "wb"))  # noqa: PTH123
        file.write(content)
        file.flush()
        with suppress(FileNotFoundError):
            os.fchmod(number, target.stat().st_mode & 0o7777)
        os.fsync(number)
        try:
            # Only with the number of a folder does Python follow the link to the file.
            os.link(f"/proc/self/fd/{number}", part.name, dst_dir_fd=folder, follow_symlinks=True)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def clear_parts(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes left of a file; no other process may be writing it."""
    target = Path(os.path.realpath(path))
    for part in target.parent.glob(_part_of(target, "[0-9a-f]" * 16, glob.escape).name):
        part.unlink(missing_ok=True)


def _part_of(target: Path, name: str, spelled: Callable[[str], str] = str) -> Path:
    """Return what is written before it takes the place of a file: hidden, in the same folder."""
    stem, suffix = spelled(target.stem[:40]), spelled(target.suffix)
    return target.with_name(f".{stem}.{name}.part{suffix}")


def _cannot_be_replaced(path: Path) -> bool:
    return path.is_char_device() or path.is_fifo()
