/**
 * Node loads this module before a linter or a generator. The program can then open no connection: a check that needs
 * the network would fail on another day, and a counter of uses would tell others what we do.
 */
import { Socket } from "node:net";

Socket.prototype.connect = function connect() {
  throw new Error("This program runs without a network, but it tried to open a connection.");
};
