"""Pictures in notebooks."""

from manyworlds._core import encode

# Pictures a second of an animation.
_RATE = 25


def show(batch, world=0, camera=None, width=640, height=480, *, steps=0, ctrl=None):
    """A picture of a world for a notebook, or with `steps` an animation of that many steps with the controls `ctrl`.

    camera: one of the file, by name or number as a string; None: one that shows all that moves, or goes along with it.
    The steps change the batch. An animation is in real time if the model's time step is the batch's. Raises ImportError
    where IPython is not installed; `batch.render` gives an array anywhere.
    """
    try:
        from IPython.display import Image
    except ImportError as error:
        raise ImportError("manyworlds.show needs IPython, which notebooks bring: pip install ipython") from error
    if steps < 0:
        raise ValueError(f"steps: expected 0 or more, found {steps}")
    if steps == 0:
        return Image(data=encode([batch.render(world, camera, width, height)]), format="png")
    models = batch.model if isinstance(batch.model, list) else [batch.model]
    every = max(1, round(1 / (_RATE * models[0].timestep)))
    pictures = [batch.render(world, camera, width, height, follow=True)]
    for done in range(0, steps, every):
        batch.step(ctrl, min(every, steps - done))
        pictures.append(batch.render(world, camera, width, height, follow=True))
    return Image(data=encode(pictures), format="gif")
