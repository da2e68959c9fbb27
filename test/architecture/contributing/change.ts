/** A change of the tree as somebody makes it by hand: one place of a list of CONTRIBUTING.md. */
export interface Change {
  /** From the top of the repository. */
  path: string;
  /** The file as it is from then on; null = it was not there. */
  edit(text: string | null): string;
}

/** What is added, by the names of the places. */
export type Places = Readonly<Record<string, Change>>;

/** A file that was not there. */
export function create(path: string, text: string): Change {
  return {
    path,
    edit(before) {
      if (before !== null) throw new Error(`${path} is there already.`);
      return text;
    },
  };
}

/** Text that goes into a file before what stands there once. */
export function insert(path: string, before: string, text: string): Change {
  return {
    path,
    edit(whole) {
      const parts = (whole ?? "").split(before);
      if (parts.length !== 2) throw new Error(`${path} has ${parts.length - 1} times ${before}`);
      return `${parts[0]}${text}${before}${parts[1]}`;
    },
  };
}

/** Several changes of one file. */
export function together(...changes: [Change, ...Change[]]): Change {
  const { path } = changes[0];
  return { path, edit: (text) => changes.reduce<string | null>((made, { edit }) => edit(made), text)! };
}

/** A line of the changelog. */
export function changelog(line: string): Change {
  const path = "CHANGELOG.md";
  return {
    path,
    edit: (text) => (text ?? "").replace("### Added\n\n", `### Added\n\n- ${line}\n`),
  };
}
