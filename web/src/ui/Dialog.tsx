/** A window over the page: the browser's own, which keeps the focus inside and gives it back. */
import { type ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n";
import { IconButton } from "./IconButton";
import { Notices } from "./notices";

/** `closable` is false for what has to be answered before anything else can be done. */
export function Dialog({ title, onClose, children, closable = true }: { title: string; onClose: () => void; children: ComponentChildren; closable?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} class="dialog" aria-labelledby={name} onClose={onClose}
      onCancel={(event) => closable || event.preventDefault()}
      onClick={(event) => closable && event.target === element.current && element.current?.close()}>
      <div class="dialog-inside">
        <header>
          <h2 id={name}>{title}</h2>
          {closable && <IconButton icon="close" label={t().common.close} onClick={() => element.current?.close()} />}
        </header>
        {children}
      </div>
      {/* Whatever is outside of an open dialog lies behind it, and nobody can read or close it. */}
      <Notices />
    </dialog>
  );
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, question, action, onYes, onClose }: {
  title: string; question: string; action: string; onYes: () => void; onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{question}</p>
      <div class="actions">
        <button type="button" onClick={onClose}>{t().common.cancel}</button>
        <button type="button" class="danger" onClick={() => (onYes(), onClose())}>{action}</button>
      </div>
    </Dialog>
  );
}
