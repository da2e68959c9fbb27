/** What an editor shows of the client: the text of the API reference, and a signature that can be read. */
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { repository } from "../../architecture/source-tree.ts";

const path = join(repository, "example-hover.ts");
const program = `import type { Client } from "./adapters/client/index.ts";
export const calls = ({ agents, events, state }: Client) => [agents./*list*/list, state./*apply*/apply, events./*stream*/stream];
`;

it("tells what a verb does and takes", () => {
  const service = serviceFor(program);
  const shown = (verb: string): string => {
    const info = service.getQuickInfoAtPosition(path, program.indexOf(`/*${verb}*/`) + verb.length + 4);
    const lines = [info?.displayParts, info?.documentation].map((parts) => ts.displayPartsToString(parts));
    return lines.join("\n").replaceAll(/\s+/g, " ");
  };
  expect(shown("list")).toMatch(
    /\(input\?: Input<"listAgentsInput">, options\?: CallOptions\) => Promise<Output<"agentPageSchema">>/,
  );
  expect(shown("list")).toContain("List agents. Agents that pass every filter.");
  expect(shown("apply")).toMatch(/nodeId: string, input\?: Input<"applyInput", "node_id">/);
  expect(shown("apply")).toContain("Brings the machine to its desired state");
  expect(shown("stream")).toContain("Events as they happen.");
}, 60_000);

function serviceFor(text: string): ts.LanguageService {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  const read = (file: string): string | undefined => (file === path ? text : ts.sys.readFile(file));
  return ts.createLanguageService({
    readFile: read,
    directoryExists: (folder) => ts.sys.directoryExists(folder),
    getDirectories: (folder) => ts.sys.getDirectories(folder),
    fileExists: (file) => file === path || ts.sys.fileExists(file),
    getScriptFileNames: () => [path],
    getScriptVersion: () => "1",
    getScriptSnapshot(file) {
      const content = read(file);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => repository,
    getCompilationSettings: () => options,
    getDefaultLibFileName: (chosen) => ts.getDefaultLibFilePath(chosen),
  });
}
