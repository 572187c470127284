"""Salmi, Hammouche & Macaire (2020). Similarity-based constraint score for feature selection.

Knowledge-Based Systems 209, 106429. We follow the paper's protocol. Where it is ambiguous, we made
these choices:

- Rows: the first rows of each class in the file are the training rows; table 1 states their number.
  (Only this order agrees with the share of correct new must-links in table 4.) Training rows and
  prototypes are sorted by class. If several prototypes are equally near, the first is used.
  Features are scaled to [0, 1] over all rows. The missing ages in Dermatology are replaced by the
  median of the training rows.
- Image Segmentation: classes are numbered in order of appearance, separately in each of its two
  files. This rule mixes up the classes, but it agrees with table 4.
- Labels: p prototypes of each class are drawn from the training rows. Supervised methods use only
  the prototypes, semi-supervised methods use all training rows, and unsupervised methods use the
  rows without a label. The wrapper SFS-1NN uses more labels: it evaluates 1-NN on the prototypes
  with the true classes of all training rows. No method uses a test row.
- Table 3 contains averages over 1, 2, ... features, up to r % of all features, rounded up (the
  curves of CNAE-9 end at 172 of 856 features). In table 8, the lowest score is chosen in the same
  range.
- The Laplacian Score, SPEC (its first style) and C4 use the complete graph of equations 1 and 15,
  in which each sample is also connected to itself. C3, C5, C6 and C7 use 5 neighbours including the
  sample itself.
- EnsCLS ranks features in the opposite order, which agrees better with the published numbers on
  eight of twelve sets. Table 6 also contains the results with the correct order.
- Clustering (tables 5 and 6, eps^SS in table 8) uses these settings: 20 nearest neighbours as in
  Kamvar et al. (2003), symmetric normalisation, sigma=1, one eigenvector per class (the first
  eigenvector is excluded), and rows scaled to length 1. Each row gets the class of the nearest
  prototype in this embedding. The paper does not specify these settings; docs/reproduction
  describes the alternatives. The most literal alternative, the additive normalisation of a complete
  graph, isolates single rows.
- For eps^S, table 8 contains the accuracy of 1-NN on the prototypes; for eps^SS, it contains the
  accuracy of clustering.
"""

from linkselect.reproduction._paper import Paper
from linkselect.reproduction._papers.similarity_2020.figures import FIGURES
from linkselect.reproduction._papers.similarity_2020.protocol import PROTOCOL, compute
from linkselect.reproduction._papers.similarity_2020.tables import NAME, TABLES

PAPER = Paper(
    NAME,
    "Similarity-based constraint score for feature selection (2020)",
    compute,
    TABLES,
    FIGURES,
    protocol=PROTOCOL,
    timed=("run time",),
)
