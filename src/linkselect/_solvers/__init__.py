"""Optimisation solvers that return solutions together with certificates of optimality.

The solvers are independent of samples and features. Points are the rows of a matrix, and
coordinates are its columns. A target is a point that is reconstructed from the other points. A
stack is a set of such problems that share a matrix and are solved together.

============================  ====================================================================
problem                       module
============================  ====================================================================
``|s|_1 + cost'|t|``, linear  `simplex` [6]_ (`simplex_bases`), started by `interior_point` [2]_
the same, approximately       `splitting` [8]_
``|s|_1`` in a ball           `least_norm`, by SciPy's `nnls` [3]_
ridge, barycentric weights    `closed_form` [7]_
quadratic with row penalty    `proximal`
============================  ====================================================================

The module `stacks` contains linear algebra for stacks.

Names and symbols
-----------------
The following table relates names in the code to the literature. A linear program is ``min c'x, Ax =
b, x >= 0`` with the dual ``max b'y, A'y + z = c, z >= 0`` [1]_.

==========================  ===========  =========================================================
name in the code            symbol       name in the literature
==========================  ===========  =========================================================
goal                        b            right-hand side
value, values               x            primal variables; here free, ``positive - negative``
positive, negative          x+, x-       positive and negative part of a free variable
weights, residual           s, t         structural variables and the slacks of the equations
cost                        c            objective coefficients
price                       y (lambda)   dual variables, multipliers of the equations
worth                       A'y          simplex multipliers applied to a column
below, above                z+, z-       dual slacks, ``c - A'y`` and ``c + A'y``: reduced costs
excess                      -z           negative reduced cost of the entering variable
missing                     -r_b         primal infeasibility, ``b - Ax``
products                    X Z e        complementarity products; their mean is ``mu``
gap                         x'z          complementarity (duality) gap
centre                      sigma mu     ``mu`` times the cube of ``mu_aff / mu`` [2]_
scaling                     X Z^-1       diagonal of the normal equations ``A X Z^-1 A'``
wanted, rest                r_xz         right-hand side of the complementarity equations
error                       --           residual of a reconstruction, ``s D``
log_penalty                 log lambda   penalty on the squared l1 norm in `least_norm`
FRACTION                    eta          fraction to the boundary
entering, leaving           q, p         entering and leaving variable, Dantzig's rule
column, pivot               B^-1 A_q     column of the tableau and its pivot element
perturbation                epsilon      perturbation of b against degeneracy
quadratic, linear           Q, B         Hessian and linear term of the smooth part
penalty                     lambda       weight of the group lasso's penalty
ahead, following            y_k, x_k     extrapolated point and iterate of FISTA [4]_
momentum                    t_k          FISTA's sequence; restarted by the gradient test [5]_
shrink_rows                 prox         block soft thresholding
splitting                   --           alternating direction method of multipliers, ADMM [8]_
weight_prices,              u            scaled multipliers of ADMM
residual_prices
penalty                     rho          penalty of ADMM, adapted to balance the residuals
RELAXATION                  alpha        over-relaxation
violation                   --           residual of the optimality (KKT) conditions
==========================  ===========  =========================================================

References
----------
.. [1] J. Nocedal, S. J. Wright (2006). Numerical Optimization, 2nd edition, chapters 13 (simplex)
   and 14 (interior point). Springer.
.. [2] S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM
   Journal on Optimization 2, 575-601.
.. [3] C. L. Lawson, R. J. Hanson (1995). Solving Least Squares Problems, chapter 23. SIAM.
.. [4] A. Beck, M. Teboulle (2009). A fast iterative shrinkage-thresholding algorithm for linear
   inverse problems. SIAM Journal on Imaging Sciences 2, 183-202.
.. [5] B. O'Donoghue, E. Candes (2015). Adaptive restart for accelerated gradient schemes.
   Foundations of Computational Mathematics 15, 715-732.
.. [6] I. Barrodale, F. D. K. Roberts (1973). An improved algorithm for discrete l1 linear
   approximation. SIAM Journal on Numerical Analysis 10, 839-848. The long step of `simplex`.
.. [7] S. T. Roweis, L. K. Saul (2000). Nonlinear dimensionality reduction by locally linear
   embedding. Science 290, 2323-2326. The barycentric weights of `closed_form`.
.. [8] S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein (2011). Distributed optimization and
   statistical learning via the alternating direction method of multipliers. Foundations and Trends
   in Machine Learning 3, 1-122. Sections 3.4 (penalty, over-relaxation) and 6 (l1 problems).
"""
