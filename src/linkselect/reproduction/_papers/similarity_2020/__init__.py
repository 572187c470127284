"""Salmi, Hammouche & Macaire (2020). Similarity-based constraint score for feature selection.

Knowledge-Based Systems 209, 106429. The paper's protocol, and how we read what it leaves open:

- Rows: the first ones of each class in file order train, as many as its table 1 says (table 4
  reveals the order: its share of correct new must-links fits no other). They are sorted by class,
  and so are the prototypes: of equally near ones the first decides. Features are scaled to [0, 1]
  over all rows; the missing ages of Dermatology are the median of the training rows.
- Image Segmentation: classes numbered by appearance in each of its two files, which mixes them up,
  as table 4 shows the paper's were.
- Labels: p prototypes of each class are drawn from the training rows. Supervised methods see them
  alone, semi-supervised ones all training rows, unsupervised ones those without a label. SFS-1NN
  is a wrapper that sees more: it scores 1-NN on the prototypes by the true classes of the whole
  training half. No method sees a test row.
- Table 3 averages over 1, 2, ... features up to r %, rounded up (its curves end at 172 of CNAE-9's
  856). Table 8 looks for the least score in the same range.
- The Laplacian Score, SPEC (its first style) and C4 use the complete graph of equations 1 and
  15, in which each sample is also joined with itself; C3, C5, C6 and C7 have 5 neighbours, the
  sample itself among them.
- EnsCLS has its features in the opposite order, which is nearer to the published numbers on eight
  of twelve sets. Table 6 shows the right order as well.
- Clustering (tables 5 and 6, eps^SS in table 8): 20 nearest neighbours as in Kamvar et al. (2003),
  the symmetric normalisation, sigma=1, as many eigenvectors as classes without the first, rows
  scaled to length 1, and each row takes the class of the nearest prototype there. The paper states
  none of this; docs/reproduction has the other readings. The additive normalisation of a
  complete graph, the most literal reading, collapses into single rows.
- Table 8 prints the accuracy of eps^S by 1-NN on the prototypes, that of eps^SS by clustering.
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
