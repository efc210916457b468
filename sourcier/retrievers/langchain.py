"""A retriever for LangChain: `pip install "sourcier[langchain]"`.

>>> from sourcier.retrievers.langchain import SourcierRetriever
>>> from sourcier.sync import Client
>>> client = Client("localhost:8080")
>>> retriever = SourcierRetriever(client=client, limit=1, options={"collection": "demo"})
>>> [document.metadata["title"] for document in retriever.invoke("télétravail")]
['Charte du télétravail']
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator

from sourcier.retrievers.searching import check_options, metadata, search
from sourcier.sync import Client


class SourcierRetriever(BaseRetriever):
    """Finds passages through a gateway; `ainvoke` searches in a thread. A failed search raises SourcierError."""

    client: Client
    """The connection; it is the caller's to close."""
    limit: int = Field(default=0, ge=0, le=100)
    """Most passages; 0 leaves it to the collection."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The other arguments of `Client.search`: `collection`, `filter`, `mode`, `neighbours`, …"""

    @field_validator("options")
    @classmethod
    def _known(cls, options: dict[str, Any]) -> dict[str, Any]:
        check_options(options)
        return options

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        """Search; options of the call, `invoke(question, limit=3)`, come before the retriever's."""
        limit = options.pop("limit", self.limit)
        passages = search(self.client, query, limit=limit, options={**self.options, **options})
        return [
            Document(id=passage.chunk_id or None, page_content=passage.text, metadata=metadata(passage))
            for passage in passages
        ]
