import { type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { notify } from "./notices";

/** A view whose program is fetched when it is first opened. */
export function later(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
  return function Later() {
    const [view, setView] = useState<{ View: ComponentType } | null>(loaded && { View: loaded });
    useEffect(() => {
      if (view) return;
      load().then((View) => {
        loaded = View;
        setView({ View });
      }, () => notify(t().errors.unreachable, true));
    }, []);
    return view ? <view.View /> : <p class="quiet view">{t().common.loading}</p>;
  };
}
