"""Atomic writing of files: a file is written completely or not at all."""

import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which replaces `path` once it is completely written.

    If an error occurs, the file at `path` remains unchanged. Other processes see either the old
    file or the complete new file. The new file has the permissions of the old file. If `path` is a
    symbolic link, its target is replaced. Devices and pipes cannot be replaced, so they are written
    to directly.

    Parameters
    ----------
    path : str or path
        Path of the file to write. Its folder must exist.

    Examples
    --------
    >>> import os, tempfile
    >>> from linkselect._files import written_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(os.path.join(folder, "a.txt")) as part:
    ...         _ = part.write_text("content")
    ...     os.listdir(folder)
    ['a.txt']
    """
    given = Path(path)
    # Links are not resolved here: if /dev/stdout is a pipe, its target is not a path.
    if _cannot_be_replaced(given):
        yield given
        return
    target = Path(os.path.realpath(path))  # does not fail if links form a cycle
    # The temporary file is in the same folder, so that it can be renamed. Its name is random and
    # must be new, so that a link planted by someone else is not followed.
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
        # Report the path that the user passed instead of the temporary file.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically, without leaving a temporary file if the process is killed.

    If the system supports unnamed files, the new file gets a name only after it has been written to
    disk, immediately before it replaces the old file. On other systems, a killed process can leave
    a temporary file, which `clear_parts` removes.
    """
    target = Path(os.path.realpath(path))
    if _cannot_be_replaced(target):
        target.write_bytes(content)
        return
    if hasattr(os, "O_TMPFILE"):
        # The file system may not support unnamed files. Any other error is raised again below.
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
            # Python follows the link to the file only if a folder descriptor is passed.
            os.link(f"/proc/self/fd/{number}", part.name, dst_dir_fd=folder, follow_symlinks=True)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def clear_parts(path: str | os.PathLike[str]) -> None:
    """Remove temporary files of killed processes, provided that no process is writing to `path`."""
    target = Path(os.path.realpath(path))
    for part in target.parent.glob(_part_of(target, "[0-9a-f]" * 16, glob.escape).name):
        part.unlink(missing_ok=True)


def _part_of(target: Path, name: str, spelled: Callable[[str], str] = str) -> Path:
    """Return the path of a hidden temporary file in the folder of the target.

    The temporary file has the suffix of the target, because some libraries choose the file format
    by the suffix. The stem is shortened, so that the name is valid even if the name of the target
    has the maximum length.
    """
    stem, suffix = spelled(target.stem[:40]), spelled(target.suffix)
    return target.with_name(f".{stem}.{name}.part{suffix}")


def _cannot_be_replaced(path: Path) -> bool:
    return path.is_char_device() or path.is_fifo()
