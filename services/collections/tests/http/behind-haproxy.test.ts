import { describeService } from "./fixtures/proxy-promises.ts";
import { HAPROXY } from "./fixtures/real-proxies.ts";

describeService(HAPROXY);
