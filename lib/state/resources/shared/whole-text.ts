/** What resources say that say all of a file. */
import { OrchestratorError } from "../../../errors.ts";
import { decodeText } from "../../text-diff.ts";
import type { TextEdit } from "../../text-edits.ts";

/** The edit of a resource by which a file holds this and nothing else; null = there is no file. */
export function wholeText(path: string, content: string | Uint8Array | null): TextEdit {
  let known: string | null = null;
  return {
    of: path,
    isWhole: true,
    edit() {
      if (content === null) return null;
      known ??= decodeText(typeof content === "string" ? Buffer.from(content) : content);
      if (known !== null) return known;
      // What is no text has no lines that others could own.
      throw new OrchestratorError("HOST_ERROR", { message: `${path} is not UTF-8 text.`, details: { path } });
    },
    cost: () => content?.length ?? 0,
  };
}
