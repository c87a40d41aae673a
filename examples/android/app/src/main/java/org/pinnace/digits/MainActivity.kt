package org.pinnace.digits

import android.app.Activity
import android.os.Bundle
import android.widget.Button
import android.widget.TextView
import java.util.concurrent.Executors

class MainActivity : Activity() {
    // The model runs beside the screen's thread, one drawing after the other.
    private val worker = Executors.newSingleThreadExecutor()
    private var digits: Digits? = null

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        setContentView(R.layout.main)
        val board = findViewById<Board>(R.id.board)
        val answer = findViewById<TextView>(R.id.answer)
        worker.execute { digits = assets.open(MODEL).use { Digits(it.readBytes()) } }
        board.onDrawn = {
            val image = Digits.image(board.pixels(), Board.PIXELS)
            worker.execute {
                val guess = digits?.guess(image)
                runOnUiThread {
                    guess?.let { answer.text = getString(R.string.answer, it.digit, it.score) }
                }
            }
        }
        findViewById<Button>(R.id.clear).setOnClickListener {
            board.clear()
            answer.setText(R.string.draw)
        }
    }

    override fun onDestroy() {
        worker.execute { digits?.close() }
        worker.shutdown()
        super.onDestroy()
    }

    private companion object {
        const val MODEL = "digits.onnx"
    }
}
