"""The compiled inner loops: plain functions on arrays, no objects.

Every kernel is written once and serves dense rows (a C-ordered float32 or float64 array) and CSR
rows (a tuple ``(data, indices, indptr)``). Three primitives hide the difference: ``score_rows``,
``add_row`` and ``row_values`` of :mod:`~polyceptron.kernels.scores`. All sums are taken in float64.
"""

from polyceptron.kernels.columns import column_ends as column_ends
from polyceptron.kernels.columns import column_moments as column_moments
from polyceptron.kernels.columns import map_columns as map_columns
from polyceptron.kernels.descent import HERE as HERE
from polyceptron.kernels.descent import TRIAL as TRIAL
from polyceptron.kernels.descent import add_scaled as add_scaled
from polyceptron.kernels.descent import advance as advance
from polyceptron.kernels.descent import begin as begin
from polyceptron.kernels.descent import descent_direction as descent_direction
from polyceptron.kernels.descent import dot as dot
from polyceptron.kernels.faces import best_swap as best_swap
from polyceptron.kernels.faces import fit_face as fit_face
from polyceptron.kernels.faces import term_gains as term_gains
from polyceptron.kernels.likelihood import likelihood_block as likelihood_block
from polyceptron.kernels.likelihood import logistic_block as logistic_block
from polyceptron.kernels.perceptron import batch_block as batch_block
from polyceptron.kernels.perceptron import descend as descend
from polyceptron.kernels.perceptron import frozen_block as frozen_block
from polyceptron.kernels.perceptron import gradient_norms as gradient_norms
from polyceptron.kernels.perceptron import online_pass as online_pass
from polyceptron.kernels.perceptron import online_passes as online_passes
from polyceptron.kernels.perceptron import shuffle as shuffle
from polyceptron.kernels.scores import assign_block as assign_block
from polyceptron.kernels.scores import decide as decide
from polyceptron.kernels.scores import from_panels as from_panels
from polyceptron.kernels.scores import inverse_norms as inverse_norms
from polyceptron.kernels.scores import margins as margins
from polyceptron.kernels.scores import to_panels as to_panels
from polyceptron.kernels.union import LEAST_NOISE as LEAST_NOISE
from polyceptron.kernels.union import descend_union as descend_union
from polyceptron.kernels.union import leapfrog as leapfrog
from polyceptron.kernels.union import noise_of as noise_of
from polyceptron.kernels.union import pack_rows as pack_rows
from polyceptron.kernels.union import penalised as penalised
from polyceptron.kernels.union import removal_costs as removal_costs
from polyceptron.kernels.union import union_part as union_part
