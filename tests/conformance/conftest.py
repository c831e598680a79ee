"""The suite runs on whatever platform is the default; one that lacks what a test needs says so itself."""

import pytest
from rabbet.errors import NotOfferedError


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except NotOfferedError as error:  # the reason is the backend's own, `Backend.lacks`
        pytest.skip(str(error).splitlines()[0])
