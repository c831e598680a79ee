"""Names that programs use although JAX's pages have them no longer."""

import rabbet as rb


def test_hosts_are_processes():
    assert (rb.host_count(), rb.host_id(), rb.host_ids()) == (rb.process_count(), rb.process_index(), [0])


def test_the_folder_of_the_cache(tmp_path):
    from rabbet.experimental.compilation_cache import compilation_cache

    before = rb.config.cache_dir
    try:
        compilation_cache.set_cache_dir(tmp_path)
        assert str(rb.config.cache_dir) == str(tmp_path)
        compilation_cache.reset_cache()
    finally:
        rb.config.update("cache_dir", before)
