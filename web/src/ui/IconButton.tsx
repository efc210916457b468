import { Icon, type IconName } from "./icons";

interface Props {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
  class?: string;
}

/** A button that is a small picture, with a name for those who do not see it and for the pointer that rests on it. */
export function IconButton({ icon, label, onClick, pressed, disabled, class: more = "" }: Props) {
  return (
    <button type="button" class={`icon-button ${more}`} title={label} aria-label={label} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
