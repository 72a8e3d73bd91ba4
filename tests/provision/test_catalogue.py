import pytest

from fanwise.errors import InputError, ParameterError
from fanwise.provision import verify_parameters
from fanwise.provision.catalogue import (
    BUILT_IN,
    Instance,
    describe_catalogue,
    find_instance,
    read_catalogue,
    resolve_catalogue,
)


def write(tmp_path, text):
    path = tmp_path / "machines.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_built_in_catalogue_is_the_contracts():
    assert resolve_catalogue(None) == BUILT_IN
    assert (Instance("c3.large", 0.15, 64.0), Instance("c3.xlarge", 0.30, 128.0)) == BUILT_IN
    assert describe_catalogue(BUILT_IN) == verify_parameters.BUILT_IN


def test_a_file_is_read(tmp_path):
    text = "\ufeffmbps, instance ,usd_per_hour,region\r\n100,ärger,0.2,eu\r\n 1e3 ,big, 1,\r\n"
    catalogue = read_catalogue(write(tmp_path, text))
    assert catalogue == (Instance("ärger", 0.2, 100.0), Instance("big", 1.0, 1000.0))
    assert find_instance(catalogue, "big").mbps == 1000
    assert resolve_catalogue(str(tmp_path / "machines.csv")) == catalogue


def test_limits_are_read_and_described(tmp_path):
    text = (
        "instance,usd_per_hour,mbps,max_connections,max_topics\n"
        "a,1,2,,\nb,1,2,5000, 30\nc,1,2, ,7\n"
    )
    catalogue = read_catalogue(write(tmp_path, text))
    assert catalogue == (
        Instance("a", 1.0, 2.0),
        Instance("b", 1.0, 2.0, max_topics=30, max_connections=5000),
        Instance("c", 1.0, 2.0, max_topics=7),
    )
    assert describe_catalogue(catalogue) == {
        "a": {"usd_per_hour": 1.0, "mbps": 2.0},
        "b": {"usd_per_hour": 1.0, "mbps": 2.0, "max_topics": 30, "max_connections": 5000},
        "c": {"usd_per_hour": 1.0, "mbps": 2.0, "max_topics": 7},
    }


def test_capacity_is_bandwidth_times_time():
    assert Instance("a", 1.0, 64.0).capacity_bytes(864000.0) == 6.912e12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'instance'; it has none"),
        ("instance,mbps\na,1\n", "no column 'usd_per_hour'; it has 'instance', 'mbps'"),
        ("instance,usd_per_hour,mbps\n", "has no instances"),
        ("instance,usd_per_hour,mbps\na,1,2\na,1,3\n", "line 3: instance 'a' is there already"),
        ("instance,usd_per_hour,mbps\na,x,2\n", "line 2: The 'usd_per_hour' parameter must be"),
        ("instance,usd_per_hour,mbps\na,-1,2\n", "line 2: The 'usd_per_hour' parameter must be"),
        ("instance,usd_per_hour,mbps\na,nan,2\n", "line 2: The 'usd_per_hour' parameter must be"),
        ("instance,usd_per_hour,mbps\na,1,0\n", "line 2: The 'mbps' parameter must be"),
        ("instance,usd_per_hour,mbps\na,1\n", "line 2: The 'mbps' parameter must be"),
        ("instance,usd_per_hour,mbps\n\n,1,2\n", "line 3: The 'instance' parameter must be"),
        (
            "instance,usd_per_hour,mbps,max_topics\na,1,2,0\n",
            "line 2: The 'max_topics' parameter must be a whole number >= 1",
        ),
        (
            "instance,usd_per_hour,mbps,max_connections\na,1,2,1.5\n",
            "line 2: The 'max_connections' parameter must be a whole number >= 1",
        ),
        ("instance,usd_per_hour,mbps\nauto,1,2\n", "line 2: The 'instance' parameter must be"),
        (b"instance,usd_per_hour,mbps\n\xff\xfe,1,2\n", "is not a CSV file in UTF-8"),
    ],
)
def test_bad_files_are_named_with_the_place(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_catalogue(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_catalogue(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_catalogue(tmp_path)


@pytest.mark.parametrize("entries", [[], [Instance("a", 1.0, 1.0), Instance("a", 2.0, 1.0)]])
def test_bad_entries_are_refused(entries):
    with pytest.raises(ParameterError, match="catalogue"):
        resolve_catalogue(entries)


def test_unknown_instances_are_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match=r"c3\.large, c3\.xlarge, or auto, got 'm5\.large'"):
        find_instance(BUILT_IN, "m5.large")
