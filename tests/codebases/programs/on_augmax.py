"""a chain of augmentations of an image"""

# packages: augmax
import augmax
import jax

x = jax.random.uniform(jax.random.PRNGKey(0), (16, 16, 3))
t = augmax.Chain(augmax.RandomCrop(8, 8), augmax.HorizontalFlip(), augmax.Rotate(), augmax.ColorJitter())
out = jax.jit(jax.vmap(t, (0, None)))(jax.random.split(jax.random.PRNGKey(1), 3), x)
print(*map(float, out.mean((1, 2, 3))))
