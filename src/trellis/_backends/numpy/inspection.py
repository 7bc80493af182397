"""What NumPy can do."""

from ..._core.abilities import Abilities
from ..exports import hand_on

ABILITIES = Abilities(is_host=True, has_small_types=True, needs_addresses=False)


hand_on(globals())
