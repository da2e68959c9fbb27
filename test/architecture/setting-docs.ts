import { format } from "prettier";
import { defaultOf, describeSetting, placesOf, settings } from "../../adapters/cli/setting-table.ts";
import { readText } from "./source-tree.ts";

const page = "docs/configuration.md";

/** docs/configuration.md with its table as the settings say it. */
export async function renderSettingDocs(): Promise<string> {
  const [before, rest = ""] = (readText(page) ?? "").split(/(?<=^\| Variable +\|.*\n)/m);
  const head = before!.slice(0, before!.trimEnd().lastIndexOf("\n") + 1);
  const after = rest.slice(rest.search(/^(?!\|)/m));
  const rows = settings().map(([name, row]) => {
    const { variable, flag, isInFile } = placesOf(name);
    const cells = [
      `\`${variable}\``,
      `\`${flag}\`${isInFile ? " (names a file)" : ""}`,
      describeSetting(row),
      defaultOf(row),
    ];
    return `| ${cells.join(" | ")} |\n`;
  });
  const table = `| Variable | Flag | Meaning | Default |\n| - | - | - | - |\n${rows.join("")}`;
  return head + (await format(table, { parser: "markdown" })) + after;
}
