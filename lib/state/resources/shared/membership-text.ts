/** Who is in which group, as a text that users and groups both make: a line for each, with its group and its user. */
import type { TextEdit } from "../../text-edits.ts";

/** Says one group of one user. */
interface Membership {
  group: string;
  user: string;
  /** Whether it is the user's primary group. */
  isPrimary: boolean;
}

/** Names the text; no path is like it. */
const of = "who is in which group";

/** The edit of a resource that takes some memberships away, and adds others. */
export function membershipEdit(goes: (membership: Membership) => boolean, comes: Membership[]): TextEdit {
  return {
    of,
    edit(text) {
      const kept = parse(text ?? "").filter((membership) => !goes(membership));
      return [...new Set([...kept, ...comes].map(print))].sort().join("");
    },
  };
}

function print({ group, user, isPrimary }: Membership): string {
  return `${group} ${user}${isPrimary ? " primary" : ""}\n`;
}

function parse(text: string): Membership[] {
  return [...text.matchAll(/^(\S+) (\S+)( primary)?$/gm)].map(([, group = "", user = "", primary]) => {
    return { group, user, isPrimary: primary !== undefined };
  });
}
