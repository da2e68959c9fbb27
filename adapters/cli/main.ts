#!/usr/bin/env node
import { refuseNode } from "./node-version.ts";

const refusal = refuseNode(process.versions.node);
if (refusal === null) {
  // Not before: an older Node can't load it.
  void import("./run.ts");
} else {
  process.stderr.write(refusal);
  process.exitCode = 1;
}
