"""Keep the shared index in Milvus (docs/decisions/0092); the only package that imports pymilvus.

`SharedIndex` is all that other packages use. `SharedStore` is what it gives the ranking.
"""

from code_intel.shared.milvus.index import SharedIndex
from code_intel.shared.milvus.store import DocumentPlace, SharedStore

__all__ = ["DocumentPlace", "SharedIndex", "SharedStore"]
