import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from linkselect.reproduction import DataNotFoundError, load_dataset
from linkselect.reproduction._datasets import DATASETS
from linkselect.reproduction._fetch import FetchError, UciSource, download, fetch_arrays
from tests.conftest import DATA


class Site(ThreadingHTTPServer):
    """A local server.

    `pages` maps a path to a body, `promised` to a wrong length, `moved` to another address, and
    `endless` to the seconds between the bytes of an endless body.
    """

    def __init__(self):
        self.pages, self.promised, self.moved, self.endless = {}, {}, {}, {}
        super().__init__(("127.0.0.1", 0), Answer)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path in self.server.moved:
            self.send_response(302)
            self.send_header("Location", self.server.moved[self.path])
            self.end_headers()
            return
        if self.path in self.server.endless:
            self.send_endlessly(self.server.endless[self.path])
            return
        body = self.server.pages.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(self.server.promised.get(self.path, len(body))))
        self.end_headers()
        self.wfile.write(body)

    def send_endlessly(self, pause):
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # the client may close the connection
            while True:
                self.wfile.write(b"x" * (1 if pause else 10_000))
                time.sleep(pause)

    def log_message(self, *args):
        pass


@pytest.fixture
def site(monkeypatch, tmp_path):
    server = Site()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("LINKSELECT_UCI", server.address)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LINKSELECT_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def text_of(field):
    return "?" if field != field else repr(field)


def uci_text(name):
    """Return a data set in the text format of UCI, one text per file."""
    spec = DATASETS[name]
    if not (DATA / spec.file).exists():
        pytest.skip(f"needs {spec.file} in {DATA}; set LINKSELECT_DATA to the data folder")
    dataset, source = load_dataset(name, DATA, fetch=False), spec.source
    if source.label == "blocks":
        widths = np.cumsum([76, 216, 64, 240, 47])
        return [
            "\n".join("  ".join(map(text_of, row)) for row in part.tolist())
            for part in np.split(dataset.X, widths, axis=1)
        ]
    lines = []
    for row, label in zip(dataset.X.tolist(), dataset.y.tolist(), strict=True):
        fields = list(map(text_of, row))
        if source.label == "one-hot":
            fields += [str(int(k == label)) for k in range(len(source.labels))]
        elif source.label == "first":
            fields.insert(0, source.labels[label])
        else:
            fields.append(source.labels[label])
        lines.append((source.separator or "\t").join(["1000025"] * source.n_ids + fields))
    if source.complete_only:
        lines.insert(4, lines[4].replace(",1.0,", ",?,", 1))
    if len(source.files) == 1:
        return ["\n".join(lines) + "\n\n"]
    head = ";\n;\n;\nREGION-CENTROID-COL,REGION-CENTROID-ROW\n\n"
    return [head + "\n".join(part) + "\n" for part in (lines[:210], lines[210:])]


def publish(site, name):
    for file, text in zip(DATASETS[name].source.files, uci_text(name), strict=True):
        site.pages[f"/{file}"] = text.encode()


FETCHABLE = [name for name, spec in DATASETS.items() if isinstance(spec.source, UciSource)]


@pytest.mark.parametrize("name", FETCHABLE)
def test_a_data_set_is_fetched_converted_and_cached(site, name, tmp_path):
    publish(site, name)
    told = []
    fetched = load_dataset(name, progress=lambda done, total: told.append((done, total)))
    kept = load_dataset(name, DATA, fetch=False)
    np.testing.assert_array_equal(fetched.X, kept.X)
    np.testing.assert_array_equal(fetched.y, kept.y)
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    site.pages.clear()  # from here on, the cached copy is used
    assert load_dataset(name).X.shape == kept.X.shape
    assert [file.name for file in (tmp_path / "linkselect").iterdir()] == [DATASETS[name].file]


def test_an_unexpected_data_set_is_refused_and_not_cached(site, tmp_path):
    publish(site, "Ionosphere")
    page = "/ionosphere/ionosphere.data"
    site.pages[page] = site.pages[page].replace(b"0.99539", b"0.99538", 1)
    with pytest.raises(ValueError, match="the checksum differs") as caught:
        load_dataset("Ionosphere")
    assert not list(tmp_path.rglob("*.npz"))
    assert f"The file from {site.address}/ionosphere" in str(caught.value)
    assert "set another download address with LINKSELECT_UCI" in str(caught.value)


def test_a_cache_that_cannot_be_written(site, tmp_path, monkeypatch):
    publish(site, "Ionosphere")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataNotFoundError, match="Cannot write .*Set XDG_CACHE_HOME to use another"):
        load_dataset("Ionosphere")


def test_an_incomplete_download_is_detected(site, tmp_path):
    publish(site, "Ionosphere")
    page = "/ionosphere/ionosphere.data"
    site.promised[page] = len(site.pages[page]) + 10
    with pytest.raises(DataNotFoundError, match=r"ended after \d+ of \d+ bytes"):
        load_dataset("Ionosphere")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_a_missing_page_is_named(site):
    with pytest.raises(DataNotFoundError) as caught:
        load_dataset("Sonar")
    message = str(caught.value)
    assert f"{site.address}/undocumented" in message
    assert "responded 404" in message
    assert "LINKSELECT_DATA" in message


def test_a_missing_network_connection_is_reported(site, monkeypatch):
    monkeypatch.setenv("LINKSELECT_UCI", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(DataNotFoundError, match="Cannot connect to .*network connection") as caught:
        load_dataset("Sonar")
    assert "sonar.npz" in str(caught.value)


def test_nothing_is_fetched_if_disabled(site):
    publish(site, "Ionosphere")
    with pytest.raises(DataNotFoundError, match="ionosphere.npz"):
        load_dataset("Ionosphere", fetch=False)


def test_text_that_is_not_a_data_set_is_refused(site):
    site.pages["/a"] = b"<html>moved</html>"
    site.pages["/b"] = b"1,2,x\n1,2,z\n"
    with pytest.raises(FetchError, match="no row has 3 fields"):
        fetch_arrays(UciSource(0, ("a",), ("x", "y")), 2)
    with pytest.raises(FetchError, match="'z' is not one of the labels x, y"):
        fetch_arrays(UciSource(0, ("b",), ("x", "y")), 2)


def test_values_are_rounded_like_the_stored_copy(site):
    site.pages["/c"] = b"0.10382563 1620.18\n0.5 3\n"
    source = UciSource(0, ("c",), ("x", "y"), "blocks", separator=None, digits=5)
    X, y = fetch_arrays(source, 2)
    assert X.tolist() == [[0.10383, 1620.2], [0.5, 3.0]]
    assert y.tolist() == [0, 1]


@pytest.mark.parametrize(
    "address", ["http://example.org/a", "ftp://127.0.0.1/a", "file:///etc/passwd", "https:", "a"]
)
def test_only_https_is_fetched(address):
    with pytest.raises(FetchError, match=r"only https|Cannot connect|not a valid|Invalid"):
        download(address)


@pytest.mark.parametrize("target", ["http://example.org/a", "ftp://127.0.0.1/a", "file:///a"])
def test_redirects_to_unencrypted_addresses_are_not_followed(site, target):
    site.moved["/a"] = target
    refused = f"redirects to {target}, but only https|to url '{target}' is not allowed"
    with pytest.raises(FetchError, match=refused):
        download(f"{site.address}/a")


def test_local_redirects_are_followed(site):
    site.moved["/a"], site.pages["/b"] = "/b", b"text"
    assert download(f"{site.address}/a") == b"text"


def test_a_circular_redirect_is_an_error(site):
    site.moved["/a"] = "/a"
    with pytest.raises(FetchError, match="Cannot download .*: the server responded 302"):
        download(f"{site.address}/a")


@pytest.mark.parametrize("length", ["many", "-5", "1_0", "²", "9" * 5000])
def test_invalid_lengths_are_errors(site, length):
    site.pages["/a"], site.promised["/a"] = b"text", length.encode().decode("latin-1")
    with pytest.raises(FetchError, match=r"Invalid response|has more than"):
        download(f"{site.address}/a")


def test_a_file_that_is_too_large_is_not_read(site):
    site.endless["/a"] = 0
    with pytest.raises(FetchError, match="has more than 50,000 bytes"):
        download(f"{site.address}/a", max_bytes=50_000)
    site.pages["/b"] = b"x" * 60_000
    with pytest.raises(FetchError, match="has more than 50,000 bytes"):
        download(f"{site.address}/b", max_bytes=50_000)


def test_a_very_slow_server_is_an_error(site):
    site.endless["/a"] = 0.05
    with pytest.raises(FetchError, match="took longer than 0.3 seconds"):
        download(f"{site.address}/a", max_seconds=0.3)


def test_a_progress_bar_is_drawn_on_a_terminal(site, monkeypatch):
    pytest.importorskip("rich")
    site.pages["/c"] = b"x" * 200_000

    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert len(download(f"{site.address}/c")) == 200_000
    assert "200.0/200.0 kB" in terminal.getvalue()
