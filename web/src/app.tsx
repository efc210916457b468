import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asked, ended, leave, may, session } from "./api/credentials";
import { AskView } from "./ask/AskView";
import { ConversationList } from "./conversations/ConversationList";
import { refreshCollections } from "./documents/collections";
import { type Language, language, speak, t } from "./i18n";
import { address, route, type View } from "./route";
import { Icon, type IconName } from "./ui/icons";
import { IconButton } from "./ui/IconButton";
import { later } from "./ui/Later";
import { Notices } from "./ui/notices";
import { Dialog } from "./ui/Dialog";
import { SignIn, SignInAgain } from "./ui/SignIn";
import { type Theme, theme } from "./ui/theme";

const DocumentsView = later(() => import("./documents/DocumentsView").then((module) => module.default));
const CurationView = later(() => import("./curation/CurationView").then((module) => module.default));
const AccessView = later(() => import("./access/AccessView").then((module) => module.default));
const OperationsView = later(() => import("./operations/OperationsView").then((module) => module.default));

const VIEWS: readonly { view: View; icon: IconName }[] = [
  { view: "ask", icon: "ask" }, { view: "documents", icon: "documents" }, { view: "curation", icon: "curation" },
  { view: "access", icon: "key" }, { view: "operations", icon: "operations" },
];
/** Whoever may give no right sees nothing of them. */
const isShown = (view: View) => view !== "access" || may("manager");

export function App() {
  const words = t();
  const menu = useSignal(false);
  const { view, conversationId } = route.value;
  useEffect(() => {
    if (!asked.value) void refreshCollections();
  }, []);
  useEffect(() => {
    menu.value = false;
  }, [view, conversationId]);
  useEffect(() => {
    const escaped = (event: KeyboardEvent) => event.key === "Escape" && (menu.value = false);
    addEventListener("keydown", escaped);
    return () => removeEventListener("keydown", escaped);
  }, []);
  useEffect(() => {
    document.documentElement.lang = language.value;
    document.title = view === "ask" ? "Sourcier" : `${words.nav[view]} · Sourcier`;
  }, [language.value, view]);
  // What was read before is read again by who came in.
  const over = ended();
  if (asked.value && !over) return <main id="main"><SignIn onIn={() => location.reload()} /></main>;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>{words.skip}</a>
      <div class={menu.value ? "shell menu-open" : "shell"}>
        <header class="topbar">
          <IconButton icon="menu" label={words.nav.menu} pressed={menu.value} onClick={() => (menu.value = !menu.value)} />
          <Brand />
        </header>
        <div class="veil" onClick={() => (menu.value = false)} />
        <aside class="sidebar" aria-label={words.nav.menu}>
          <Brand />
          <a class="new" href={address("ask")}><Icon name="plus" /><span>{words.nav.newQuestion}</span></a>
          <nav aria-label={words.nav.label}>
            {VIEWS.filter((each) => isShown(each.view)).map((each) => (
              <a key={each.view} href={address(each.view)} aria-current={view === each.view ? "page" : undefined}>
                <Icon name={each.icon} /><span>{words.nav[each.view]}</span>
              </a>
            ))}
          </nav>
          <ConversationList />
          <Preferences />
        </aside>
        <main id="main" tabIndex={-1}>
          {view === "ask" && <AskView />}
          {view === "documents" && <DocumentsView />}
          {view === "curation" && <CurationView />}
          {view === "access" && isShown("access") && <AccessView />}
          {view === "operations" && <OperationsView />}
        </main>
      </div>
      {over ? <Dialog title={words.signIn.again} onClose={() => undefined} closable={false}><SignInAgain /></Dialog> : <Notices />}
    </>
  );
}

function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true"><path d="M16 28V16M16 16C16 11 12 9 8 5M16 16c0-5 4-7 8-11" /></svg>
      Sourcier
    </span>
  );
}

function Preferences() {
  const words = t().nav;
  return (
    <div class="preferences">
      <label><span class="unseen">{words.language}</span>
        <select value={language.value} onChange={(event) => speak(event.currentTarget.value as Language)}>
          <option value="fr">Français</option>
          <option value="en">English</option>
        </select>
      </label>
      <label><span class="unseen">{words.theme}</span>
        <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
          <option value="system">{words.system}</option>
          <option value="light">{words.light}</option>
          <option value="dark">{words.dark}</option>
        </select>
      </label>
      {session.value.who && (
        <p class="who">
          <span title={session.value.who.name}>{session.value.who.name.startsWith("key:") ? t().signIn.key : session.value.who.name.replace(/^user:/, "")}</span>
          <button type="button" class="link" onClick={() => void leave()}>{t().signIn.leave}</button>
        </p>
      )}
    </div>
  );
}
