// A server on the official TypeScript SDK, version 2, whose tools leave a trace. It serves both eras; over
// HTTP on one URL, without sessions.
//
// It offers what `peers/python/server.py` offers. Every tool with an effect appends one line to the
// file named by the environment variable LEDGER and syncs it: what stands there has happened, whatever
// the client was told.
//
//     server.mjs stdio
//     server.mjs [PORT]     0, the default, takes a free port; the URL is the first line on stdout

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { localhostHostValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, ResourceTemplate, createMcpHandler, fromJsonSchema } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

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

const STILL = "peer://still";

// Over HTTP each request has a server of its own: what the tools change of it is kept here.
let isGrown = false;
// Over HTTP whoever subscribes is told by this.
let told;

function peer() {
  const server = new McpServer(
    { name: "peer-typescript", version: "1.0.0" },
    { capabilities: { completions: {}, logging: {}, resources: { subscribe: true } } },
  );
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
  const progress = async (context, progress, total) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
  };
  tool("wait", "Begins, and records that it was cancelled, if it was.", { ms: "integer" }, async ({ ms }, context) => {
    await progress(context, 1);
    try {
      await sleep(ms, undefined, { signal: context.mcpReq.signal });
    } catch (cancelled) {
      record("cancelled", {});
      throw cancelled;
    }
    return text(`waited ${ms} ms`);
  });
  tool("steps", "Reports its progress. No effect.", { number: "integer" }, async ({ number }, context) => {
    for (let step = 1; step <= number; step++) await progress(context, step, number);
    return text(`took ${number} steps`);
  });
  tool("log", "Logs the text. No effect.", { text: "string" }, async (args, context) => {
    await context.mcpReq.log("info", args.text);
    return text("logged");
  });
  const grown = () => tool("grown", "Was added. No effect.", {}, () => text("grown"));
  if (isGrown) grown();
  tool("grow", "Adds a tool, and tells whoever wants to know. No effect.", {}, () => {
    if (!isGrown) {
      isGrown = true;
      grown();
    }
    told?.toolsChanged();
    return text("grown");
  });
  tool("touch", "Tells that a resource has changed. No effect.", {}, async () => {
    told?.resourceUpdated(STILL);
    await server.server.sendResourceUpdated({ uri: STILL });
    return text("touched");
  });
  tool("big", "Answers with that many characters. No effect.", { bytes: "integer" }, ({ bytes }) =>
    text("x".repeat(bytes)),
  );
  tool("fail", "Has its effect, then reports a failure of the tool.", {}, () => {
    record("fail", {});
    return text("failed after the effect", true);
  });
  tool("echo", "Gives the text back. No effect.", { text: "string" }, (args) => text(args.text));
  tool("die", "Has its effect, then ends the process before an answer.", {}, () => {
    record("die", {});
    process.exit(1);
  });

  const contents = (uri, text) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text }] });
  server.registerResource("still", STILL, { mimeType: "text/plain" }, (uri) => contents(uri, "still here"));
  const numbers = new ResourceTemplate("peer://numbers/{number}", { list: undefined });
  server.registerResource("numbers", numbers, { mimeType: "text/plain" }, (uri, { number }) =>
    contents(uri, `number ${number}`),
  );
  server.registerPrompt("greet", { argsSchema: takes({ name: "string" }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
  }));
  server.server.setRequestHandler("completion/complete", ({ params }) => ({
    completion: { values: ["ada", "alan", "grace"].filter((name) => name.startsWith(params.argument.value)) },
  }));
  // Up to 2025-11-25. Whoever is there is told, subscribed or not.
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  return server;
}

function http(port) {
  const handler = createMcpHandler(peer);
  told = handler.notify;
  const handle = toNodeHandler(handler);
  const hostIsLocal = localhostHostValidation();
  const http = createServer((request, response) => {
    if (hostIsLocal(request, response)) handle(request, response);
  });
  http.listen(port, "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${http.address().port}/mcp`);
  });
}

if (process.argv[2] === "stdio") serveStdio(peer);
else http(Number(process.argv[2] ?? 0));
