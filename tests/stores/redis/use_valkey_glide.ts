import { OF_GLIDE } from "./clients.ts";
import { testOver } from "./tested.ts";

testOver(OF_GLIDE);
