"""Programs as data: graphs of calls of public functions, run, folded and printed as source."""

from .._programs import trace as trace
from .builder import Builder as Builder
from .count import Count as Count
from .draw import to_dot as to_dot
from .fuse import fuse as fuse
from .graph import Function as Function
from .graph import Graph as Graph
from .graph import Node as Node
from .graph import Value as Value
from .passes import drop_unused as drop_unused
from .passes import fold_constants as fold_constants
from .passes import inline_numbers as inline_numbers
from .picture import to_svg as to_svg
from .printer import Printer as Printer
from .program import program_of as program_of
from .program import run as run
