import { type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";

/** What is shown rarely, or not at first: its program is fetched when it is first shown. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Later(props: Props) {
    const [view, setView] = useState<{ View: ComponentType<Props> } | null>(loaded && { View: loaded });
    // After an upgrade a page that was open before asks for programs that are no longer there.
    const [gone, setGone] = useState(false);
    useEffect(() => {
      if (view) return;
      load().then((View) => {
        loaded = View;
        setView({ View });
      }, () => setGone(true));
    }, []);
    if (gone) return <p class="hint gone">{t().errors.renewed} <button type="button" class="link" onClick={() => location.reload()}>{t().errors.reload}</button></p>;
    return view ? <view.View {...props} /> : <p class="quiet view">{t().common.loading}</p>;
  };
}
