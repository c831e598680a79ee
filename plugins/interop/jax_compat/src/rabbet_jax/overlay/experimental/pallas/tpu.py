"""``jax.experimental.pallas.tpu``: ``rabbet.experimental.pallas.tpu``, with names that JAX had before."""

from rabbet.experimental.pallas import ANY as ANY
from rabbet.experimental.pallas import tpu

ABSENT = (
    "ACC BufferType BufferedRef CoreType LoweringException PipelineStep Tiling annotate "
    "async_remote_copy conv core core_barrier dma_semaphore einshape "
    "emit_pipeline_with_async_prefetch get_barrier_semaphore has_memory_space join_bits "
    "matmul_acc_lhs matmul_lhs_fifo matmul_pop matmul_pop_fifo matmul_push_rhs pack_fp6 "
    "reset_tpu_interpret_mode_state run_on_first_core sample_block set_tpu_interpret_mode split_bits "
    "stateful_normal to_pallas_key touch trace_value unpack_fp6"
)
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
TPUCompilerParams, TPUMemorySpace = tpu.CompilerParams, tpu.MemorySpace
