"""Settings of JAX as context managers: ``with rb.checking_leaks():``."""

from rabbet import config

allow_f16_reductions = config.context("allow_f16_reductions")
array_garbage_collection_guard = config.context("array_garbage_collection_guard")
auto_pcast = config.context("auto_pcast")
checking_leaks = config.context("checking_leaks")
explain_cache_misses = config.context("explain_cache_misses")
no_execution = config.context("no_execution")
softmax_custom_jvp = config.context("softmax_custom_jvp")
thread_guard = config.context("thread_guard")
transfer_guard = config.context("transfer_guard")

__all__ = [
    "allow_f16_reductions", "array_garbage_collection_guard", "auto_pcast", "checking_leaks",
    "explain_cache_misses", "no_execution", "softmax_custom_jvp", "thread_guard",
    "transfer_guard",
]  # fmt: skip
