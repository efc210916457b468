/** Small pictures, drawn with lines in the colour of the text beside them. */
const PATHS = {
  ask: "M4 5h16v11H9l-5 4z",
  documents: "M6 3h8l4 4v14H6zM14 3v4h4",
  curation: "M12 3l2.6 5.6 6 .7-4.4 4.2 1.1 6L12 16.6 6.7 19.5l1.1-6L3.4 9.3l6-.7z",
  operations: "M3 12h4l3-8 4 16 3-8h4",
  plus: "M12 5v14M5 12h14",
  play: "M7 4.500l12 7.500-12 7.500z",
  download: "M12 4v11M7 10l5 5 5-5M5 20h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  again: "M4 12a8 8 0 1 0 2.5-5.8M4 4v5h5",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  up: "M7 11v9H4v-9zM7 11l4-7c1.6 0 2.4 1 2 2.6L12.4 10H19c1.3 0 2 1 1.7 2.2l-1.6 6.3c-.3 1-1 1.5-2 1.5H7",
  down: "M17 13V4h3v9zM17 13l-4 7c-1.6 0-2.4-1-2-2.6l.6-3.4H5c-1.3 0-2-1-1.7-2.2l1.6-6.3C5.200 4.500 5.900 4 6.900 4H17",
  star: "M12 4l2.400 5.200 5.600.6-4.200 3.900 1.100 5.600L12 16.500 7.100 19.300l1.100-5.600L4 9.800l5.600-.6z",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4",
  trash: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
  upload: "M12 16V5M7 10l5-5 5 5M5 19h14",
  folder: "M3 6h6l2 2h10v11H3z",
  check: "M5 12l5 5 9-10",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.5",
  chevron: "M9 6l6 6-6 6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M13 5v4M7 15v4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.500v.5",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M16 7l3 3M13.500 9.500l2 2",
  shield: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
