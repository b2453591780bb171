<?php

// Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
// A case is seven fields, each with a NUL behind it; the body is in base64.
declare(strict_types=1);

require __DIR__ . '/signing.php';

$fields = explode("\0", stream_get_contents(STDIN));
array_pop($fields);
foreach (array_chunk($fields, 7) as [$secret, $method, $path, $timestamp, $body, $signature, $nowMs]) {
    $request = [$secret, $method, $path, $timestamp, base64_decode($body)];
    echo sign(...$request), ' ', verify(...$request, signature: $signature, nowMs: (int) $nowMs) ? 'true' : 'false', "\n";
}
