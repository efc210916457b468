"""What each RPC needs: a role, and a right on the collections it works on. An RPC without a rule is refused.

The right decides what the call's transactions see: a call that writes sees the collections that its caller may write
to, and no other, so that what may not be changed is not found. A test goes through the descriptors and finds an RPC
without a rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from sourcier.services.chassis.access import MANAGE, READ, WRITE
from sourcier.services.gateway.access.principal import Role

PACKAGE = "/sourcier.gateway.v1."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a call needs."""

    role: Role
    right: str
    """On each collection that is to be seen."""
    whole: bool = False
    """Whether the role alone suffices, without a grant: what it is about has no collection yet."""
    others_conversations: bool = False
    """Whether an operator with that right sees the conversations of others."""
    public: bool = False
    """Whether no credentials are asked for."""
    changes: bool = True
    """Whether the audit log has it even where reading is left out."""


_READS = Rule(role=Role.READER, right=READ, changes=False)
_WRITES = Rule(role=Role.WRITER, right=WRITE)
_MANAGES = Rule(role=Role.MANAGER, right=MANAGE)
_CREATES = Rule(role=Role.MANAGER, right=MANAGE, whole=True)
_OPERATES = Rule(role=Role.OPERATOR, right=MANAGE)
_LOOKS_AFTER = Rule(role=Role.OPERATOR, right=MANAGE, changes=False)
_OWN = Rule(role=Role.READER, right=READ)
"""About conversations and answers of the caller's own."""
_OWN_OR_OTHERS = Rule(role=Role.READER, right=READ, others_conversations=True)
_OWN_OR_OTHERS_READ = Rule(role=Role.READER, right=READ, others_conversations=True, changes=False)

_BY_RULE: tuple[tuple[str, Rule, tuple[str, ...]], ...] = (
    ("AnswerService", _READS, ("Ask", "Search", "Resume", "GetFacets")),
    ("AnswerService", _OWN, ("Cancel",)),
    ("ConversationService", _OWN, ("CreateConversation", "UpdateConversation", "RateMessage")),
    ("ConversationService", _OWN_OR_OTHERS_READ, ("GetConversation", "ListConversations", "ListMessages")),
    ("ConversationService", _OWN_OR_OTHERS, ("DeleteConversation",)),
    ("CurationService", _READS, (
        "GetAgent", "ListAgents", "GetDeployment", "ListDeployments", "GetFaqEntry", "ListFaqEntries",
        "GetAgentIndex", "ListUnits", "GetUnit",
    )),
    ("CurationService", _WRITES, ("UpdateUnit", "AddPair", "UpdatePair", "DeletePair")),
    ("CurationService", _MANAGES, (
        "CreateAgent", "UpdateAgent", "DeleteAgent", "CreateDeployment", "UpdateDeployment",
        "DeleteDeployment", "AddFaqEntry", "ConfirmFaqEntry", "RetireFaqEntry", "RebuildAgentIndex",
    )),
    ("CurationService", Rule(role=Role.MANAGER, right=MANAGE, others_conversations=True), ("ApproveAnswer",)),
    ("KnowledgeService", _READS, (
        "ListCollections", "GetDocument", "GetDocumentText", "ListDocuments", "GetJob", "ListJobs", "WatchJob",
        "GetOriginal", "GetPageImage", "LocatePassage", "ListConflicts", "GetCoverage",
    )),
    ("KnowledgeService", _WRITES, (
        "UploadDocument", "IngestText", "DeleteDocument", "SetDocumentDate", "SupersedeDocument",
    )),
    ("KnowledgeService", _MANAGES, ("DeleteCollection", "UpdateCollection")),
    ("KnowledgeService", _CREATES, ("CreateCollection",)),
    ("OperationsService", Rule(role=Role.WRITER, right=WRITE, changes=False), ("ListFailures", "GetFailure")),
    ("OperationsService", _WRITES, ("ReplayFailures", "DiscardFailures")),
    ("OperationsService", _MANAGES, ("Reprocess",)),
    ("OperationsService", _OPERATES, ("Reconcile", "EraseTenant")),
    ("OperationsService", _LOOKS_AFTER, ("Diagnose", "GetStatistics", "ListBuckets")),
    ("ModelService", _READS, ("EmbedTexts", "RankTexts")),
    ("SpaceService", _READS, ("GetBuildManifest",)),
    ("SpaceService", Rule(role=Role.MANAGER, right=MANAGE, changes=False),
     ("ListSpaces", "GetSpaceBuild", "WatchSpaceBuild", "CompareSpaces")),
    ("SpaceService", _OPERATES, ("BuildSpace", "SwitchSpace", "RollbackSpace", "DropSpace")),
    ("TransferService", _MANAGES, ("ExportCollection", "ImportCollection", "ImportPoints")),
    ("AccessService", Rule(role=Role.READER, right=READ, public=True, changes=False), ("GetSignIn",)),
    ("AccessService", _READS, ("WhoAmI",)),
    ("AccessService", _OPERATES, ("CreateKey", "RevokeKey")),
    ("AccessService", _LOOKS_AFTER, ("ListKeys",)),
    ("AccessService", _MANAGES, ("AddGrant", "RemoveGrant")),
    ("AccessService", Rule(role=Role.MANAGER, right=MANAGE, changes=False), ("ListGrants",)),
)
RULES: dict[str, Rule] = {
    f"{PACKAGE}{service}/{method}": rule for service, rule, methods in _BY_RULE for method in methods
}
