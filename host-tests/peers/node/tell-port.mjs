// Loaded before a server that does not tell which free port it got: says so on a line of its own.
//
//     PORT=0 node --import ./tell-port.mjs SERVER ..

import { Server } from "node:net";

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once("listening", () => console.log(`listening on port ${this.address().port}`));
  return listen.apply(this, args);
};
