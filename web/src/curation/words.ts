import { said } from "../i18n";
import type { Widened } from "../i18n/words";

const french = {
  deployments: (agent: string) => `Déploiements de « ${agent} »`,
  lead: "Un déploiement est l’agent sous un autre nom, pour un site ou une équipe. Ce qu’il ne règle pas lui-même vient de l’agent.",
  add: "Nouveau déploiement", none: "Aucun déploiement : on demande à l’agent lui-même.", name: "Nom", inherits: "Tout vient de l’agent",
  inherit: "Comme l’agent", inheritService: "Comme le service", edit: (name: string) => `Régler « ${name} »`, removeAsk: (name: string) => `Supprimer le déploiement « ${name} » ? L’agent reste.`,
  settings: {
    mode: "Recherche", indexing_method: "Indexation", direct_similarity: "Ressemblance pour une réponse validée", analyse: "Analyse de la question",
  } as Readonly<Record<string, string>>,
  similarityHint: "De 0 à 1. Plus haut : la question doit ressembler davantage à celle de la réponse validée.",
  modes: { injection: "Une recherche, puis la réponse", tools: "Le modèle cherche lui-même" },
  methods: { none: "Passages seuls", classic: "Résumé et catégorie", qa_atomic: "Questions et réponses" },
  switch: { true: "Le modèle analyse la question avant la recherche", false: "Sans analyse" }, unknown: "Réglage inconnu, sans effet", pair: (name: string, value: string) => `${name} : ${value}`,
};

const english: Widened<typeof french> = {
  deployments: (agent) => `Deployments of “${agent}”`,
  lead: "A deployment is the agent under another name, for a site or a team. What it does not set itself comes from the agent.",
  add: "New deployment", none: "No deployments: the agent itself is asked.", name: "Name", inherits: "All comes from the agent",
  inherit: "As the agent", inheritService: "As the service", edit: (name) => `Set up “${name}”`, removeAsk: (name) => `Delete the deployment “${name}”? The agent stays.`,
  settings: { mode: "Search", indexing_method: "Indexing", direct_similarity: "Likeness for a validated answer", analyse: "Analysis of the question" },
  similarityHint: "0 to 1. Higher: the question has to be more like that of the validated answer.",
  modes: { injection: "One search, then the answer", tools: "The model searches by itself" },
  methods: { none: "Passages alone", classic: "Summary and category", qa_atomic: "Questions and answers" },
  switch: { true: "The model analyses the question before the search", false: "No analysis" }, unknown: "Unknown setting, without effect", pair: (name, value) => `${name}: ${value}`,
};

const BOTH = { fr: french, en: english };
export type CurationWords = Widened<typeof french>;

export function curationWords(): CurationWords {
  return said<CurationWords>(BOTH);
}
