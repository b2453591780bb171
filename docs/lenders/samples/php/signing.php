<?php

declare(strict_types=1);

const TOLERANCE_MS = 5 * 60 * 1000;

/** The signature of a request. The body is the very bytes that go over the wire. */
function sign(string $secret, string $method, string $path, string $timestamp, string $body): string
{
    $head = strtoupper($method) . "\n" . explode('?', $path)[0] . "\n" . $timestamp . "\n";
    return hash_hmac('sha256', $head . $body, $secret);
}

/** Whether these very bytes were signed with this secret, within five minutes of now. An absent header is ''. */
function verify(
    string $secret,
    string $method,
    string $path,
    string $timestamp,
    string $body,
    string $signature,
    ?int $nowMs = null,
): bool {
    $nowMs ??= (int) (microtime(true) * 1000);
    if (!preg_match('/^[0-9]{1,15}$/D', $timestamp) || abs($nowMs - (int) $timestamp) > TOLERANCE_MS) {
        return false;
    }
    return hash_equals(sign($secret, $method, $path, $timestamp, $body), strtolower($signature));
}
