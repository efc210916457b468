import { type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { notify } from "./notices";

/** What is shown rarely, or not at first: its program is fetched when it is first shown. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Later(props: Props) {
    const [view, setView] = useState<{ View: ComponentType<Props> } | null>(loaded && { View: loaded });
    useEffect(() => {
      if (view) return;
      load().then((View) => {
        loaded = View;
        setView({ View });
      }, () => notify(t().errors.unreachable, true));
    }, []);
    return view ? <view.View {...props} /> : <p class="quiet view">{t().common.loading}</p>;
  };
}
