"""What NumPy can do."""

from ..._core.abilities import Abilities

ABILITIES = Abilities(is_host=True, has_small_types=True, needs_addresses=False)
