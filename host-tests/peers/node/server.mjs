// A server on the official TypeScript SDK, version 2, whose tools leave a trace, over HTTP. It serves
// both eras on one URL, and keeps no sessions.
//
// It offers what `peers/python/server.py` offers. Every tool with an effect appends one line to the
// file named by the environment variable LEDGER and syncs it: what stands there has happened, whatever
// the client was told.
//
//     server.mjs [PORT]     0, the default, takes a free port; the URL is the first line on stdout

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { localhostHostValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler, fromJsonSchema } from "@modelcontextprotocol/server";

// Appends one effect in a single write, so that overlapping calls cannot mix their lines.
function record(tool, args) {
  const ledger = openSync(process.env.LEDGER, "a");
  try {
    writeSync(ledger, `${JSON.stringify({ tool, arguments: args })}\n`);
    fsyncSync(ledger);
  } finally {
    closeSync(ledger);
  }
}

function takes(properties) {
  return fromJsonSchema({
    type: "object",
    properties: Object.fromEntries(Object.entries(properties).map(([name, type]) => [name, { type }])),
    required: Object.keys(properties),
  });
}

function text(text, isError = false) {
  return { content: [{ type: "text", text }], isError };
}

function peer() {
  const server = new McpServer({ name: "peer-typescript", version: "1.0.0" });
  const tool = (name, description, properties, run, annotations) =>
    server.registerTool(name, { description, inputSchema: takes(properties), annotations }, run);

  const pay = (name) => ({ amount }) => {
    record(name, { amount });
    return text(`paid ${amount}`);
  };
  tool("pay", "Pays an amount.", { amount: "integer" }, pay("pay"));
  tool(
    "pay_hinted",
    "Pays an amount, and claims to be read-only and idempotent: a lie that must change nothing.",
    { amount: "integer" },
    pay("pay_hinted"),
    { readOnlyHint: true, idempotentHint: true },
  );
  tool("slow", "Takes its time, then has its effect.", { ms: "integer" }, async ({ ms }) => {
    await sleep(ms);
    record("slow", { ms });
    return text(`waited ${ms} ms`);
  });
  tool("fail", "Has its effect, then reports a failure of the tool.", {}, () => {
    record("fail", {});
    return text("failed after the effect", true);
  });
  tool("echo", "Gives the text back. No effect.", { text: "string" }, (args) => text(args.text));
  tool("die", "Has its effect, then ends the process before an answer.", {}, () => {
    record("die", {});
    process.exit(1);
  });
  return server;
}

const handle = toNodeHandler(createMcpHandler(peer));
const hostIsLocal = localhostHostValidation();
const http = createServer((request, response) => {
  if (hostIsLocal(request, response)) handle(request, response);
});
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${http.address().port}/mcp`);
});
