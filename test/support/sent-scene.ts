/** The scene of `output-scene.ts` with what the rows of `sent-rows.ts` name. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSocketAgent } from "./command-line.ts";
import { startOutputScene, type OutputScene } from "./output-scene.ts";

/** Where they are tried. */
interface SentScene {
  scene: OutputScene;
  /** Puts what there is in the place of its name. */
  fill(text: string): string;
  /** The words of a line. */
  wordsOf(line: string): string[];
}

/** Starts it, with an agent that waits beside the one that is approved. */
export async function startSentScene(): Promise<SentScene> {
  const scene = await startOutputScene();
  const { agent } = await startSocketAgent(scene);
  const value = join(scene.folder, "value");
  const names = join(scene.folder, "names");
  writeFileSync(value, "c2VjcmV0\n");
  writeFileSync(names, "# agent and name\nweb-1 web-01\n");
  const web = JSON.parse(await scene.print("agents", "show", "web-1", "--json")) as { node_id: string };
  const ids = { node: web.node_id, pending: agent.nodeId ?? "", value, names };
  const known: Readonly<Record<string, string>> = { ...scene.known, ...ids };
  const fill = (text: string): string =>
    text.replaceAll(/\$([a-z]+)/g, (all, name: string) => known[name] ?? all);
  const wordsOf = (line: string): string[] => line.split(" ").map((word) => fill(word).replaceAll("·", " "));
  return { scene, fill, wordsOf };
}
