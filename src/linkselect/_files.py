"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    if given.is_char_device() or given.is_fifo():
        yield given
        return
    target = Path(os.path.realpath(path))  # does not fail at links that form a circle
    # In the same folder, so that it can be renamed; a name that cannot be guessed, and only if it
    # is new, so that no link that someone planted is followed. The ending stays: formats go by it.
    # The rest is cut, so that a name of the greatest length has room for what is added.
    part = target.with_name(f".{target.stem[:40]}.{secrets.token_hex(8)}.part{target.suffix}")
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
