"""The harness that sends damaged requests: it draws the same ones, and recognises faults."""

import asyncio
import random

from fuzz.served import Requests, is_fault, run


def test_a_request_is_the_same_each_time() -> None:
    made = [Requests().one(random.Random("0/17")) for _ in range(2)]
    assert made[0] == made[1]


def test_requests_go_to_every_front_and_most_are_damaged() -> None:
    requests = Requests()
    drawn = [requests.one(random.Random(f"0/{number}")) for number in range(500)]
    fronts = {(body.is_grpc, is_hot) for body, is_hot, _ in drawn}
    assert fronts == {(True, False), (False, True), (False, False)}
    assert len({body.data for body, _, _ in drawn}) > 400


def test_what_a_server_may_answer_is_no_fault() -> None:
    good = ("200", "400", "413", "429", "503", "504", "OK", "INVALID_ARGUMENT", "closed")
    assert not any(map(is_fault, good))
    assert all(map(is_fault, ("500", "501", "502", "INTERNAL", "UNKNOWN", "NO ANSWER")))


def test_a_few_damaged_requests_hurt_no_server() -> None:
    assert asyncio.run(run(300, 11)) == 0
