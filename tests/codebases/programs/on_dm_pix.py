"""augmentations and filters of images"""

# packages: dm-pix
import dm_pix as pix
import jax
import jax.numpy as jnp

x = jax.random.uniform(jax.random.PRNGKey(0), (8, 8, 3))
y = jax.random.uniform(jax.random.PRNGKey(1), (8, 8, 3))
print(
    float(pix.gaussian_blur(x, 1.0, 3).sum()),
    float(pix.adjust_hue(x, 0.1).sum()),
    float(pix.rotate(x, 0.3).sum()),
    float(pix.psnr(x, y)),
    float(pix.ssim(x, y)),
    float(pix.random_crop(jax.random.PRNGKey(2), x, (4, 4, 3)).sum()),
    float(pix.rgb_to_hsv(x).mean()),
    float(pix.affine_transform(x, jnp.eye(3)).sum()),
)
